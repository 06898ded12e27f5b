"""What the hosts did while a workload ran: sampled by their own sar, converted by their own sadf, read here."""

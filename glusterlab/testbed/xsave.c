/* Preloaded into User-Mode Linux on a CPU with AMX. UML hands PTRACE_SETREGSET the part of the XSAVE area that it
   knows; the kernel takes a whole area only, and UML panics. So the rest of it is fetched first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

long ptrace(enum __ptrace_request request, ...)
{
    static long (*real)(int, pid_t, void *, void *);
    static char area[1 << 16];
    va_list rest;
    va_start(rest, request);
    pid_t pid = va_arg(rest, pid_t);
    void *address = va_arg(rest, void *), *data = va_arg(rest, void *);
    va_end(rest);
    if (!real)
        real = dlsym(RTLD_NEXT, "ptrace");
    if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE) {
        struct iovec *given = data, whole = {area, sizeof area};
        if (real(PTRACE_GETREGSET, pid, address, &whole) == 0 && whole.iov_len > given->iov_len) {
            memcpy(area, given->iov_base, given->iov_len);
            return real(request, pid, address, &whole);
        }
    }
    return real(request, pid, address, data);
}

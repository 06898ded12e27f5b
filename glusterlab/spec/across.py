"""Questions that several studies speak to, with the claims of each side by side (``raw/published/across.yaml``)."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, model_validator

from glusterlab.spec.claims import Sentence
from glusterlab.spec.fields import Axis, Name, SpecModel, describe, problem, suggest
from glusterlab.spec.yaml import validate

FILE = "across.yaml"


def _reference(value: object) -> tuple[str, str]:
    """A study and one of its claims; the file writes it as ``study/claim``."""
    study, slash, claim = value.partition("/") if isinstance(value, str) else ("", "", "")
    if not (study and slash and claim):
        example = "such as azure/disks-one-thread"
        raise ValueError(f"expected a study and one of its claims, {example}, found {describe(value)}")
    return study, claim


class Topic(SpecModel):
    """What claims speak about: operation, size and layouts; the most specific claim is the first.

    ``note``: where the documents agree or contradict each other, and the likely reason, or what else differs.
    """

    about: Sentence
    claims: Axis[Annotated[tuple[str, str], BeforeValidator(_reference)]]
    note: Annotated[str, Field(max_length=400)] = ""

    @property
    def studies(self) -> list[str]:
        """Names of the studies that speak about it, by name."""
        return sorted({study for study, _ in self.claims})


class Question(SpecModel):
    """A question of an engineer that two studies or more have something to say to."""

    id: Name
    question: Sentence
    topics: Annotated[tuple[Topic, ...], Field(min_length=1)]

    @property
    def studies(self) -> list[str]:
        """Names of the studies that any of its topics has claims of, by name."""
        return sorted({study for topic in self.topics for study in topic.studies})


class Across(SpecModel):
    """The file ``across.yaml``: questions, each with what the studies say to it."""

    schema_version: Literal[1]
    questions: Annotated[tuple[Question, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_are_known(self, info: ValidationInfo) -> Self:
        known: Mapping[str, Collection[str]] = (info.context or {})["known"]
        seen = set[str]()
        for n, question in enumerate(self.questions):
            if question.id in seen:
                raise problem(f"expected each id once, found {question.id!r} twice", "questions", n, "id")
            seen.add(question.id)
            for m, topic in enumerate(question.topics):
                for k, (study, claim) in enumerate(topic.claims):
                    place = ("questions", n, "topics", m, "claims", k)
                    if study not in known:
                        raise problem(f"unknown study {study!r}{suggest(study, sorted(known))}", *place)
                    if claim not in known[study]:
                        near = suggest(claim, sorted(known[study]), listed=False)
                        raise problem(f"unknown claim {claim!r} of {study}{near}", *place)
            if len(question.studies) < 2:
                alone = f"expected claims of two studies at least, found those of {question.studies[0]} alone"
                raise problem(alone, "questions", n, "topics")
        return self


def load_across(path: str | Path, known: Mapping[str, Collection[str]]) -> Across:
    """The questions that an ``across.yaml`` holds; `known` has the claims' ids of each study, by its name."""
    return validate(Across, path, known=known)

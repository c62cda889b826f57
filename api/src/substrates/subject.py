"""Identity: subjects, ids and the things that have them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, TypeVar

from .extent import Extent
from .name import Name
from .state import State

__all__ = ["Id", "Subject", "Substrate"]

S_co = TypeVar("S_co", covariant=True)


class Id(ABC):
    """An opaque token, one per subject, unique in the process; equality is identity.

    Contract: ID-UNIQ-01, ID-EQ-02.
    """

    __slots__ = ()


class Subject(Extent, Generic[S_co]):
    """Who a component is: its name, id and kind, and the subject that encloses it.

    Every component has one subject object for life. Subjects are ordered by their place in the tree: an
    ancestor before its descendants, siblings by name, equal names by creation.

    Contract: SUBJECT-PROPS-01 to SUBJECT-NAME-12.
    """

    __slots__ = ()

    SEPARATOR: ClassVar[str] = "/"

    @property
    @abstractmethod
    def enclosure(self) -> Subject[Any] | None:
        """The subject of the component that owns this one's, None for a cortex's."""

    @property
    @abstractmethod
    def id(self) -> Id:
        """This subject's id."""

    @property
    @abstractmethod
    def name(self) -> Name:
        """The label; several subjects may share one name."""

    @property
    @abstractmethod
    def state(self) -> State:
        """What is known of the component beside its identity: the same state for life, and empty."""

    @property
    @abstractmethod
    def type(self) -> type[S_co]:
        """The kind of the component: the abstract class of this API that it implements."""

    @abstractmethod
    def __lt__(self, other: Subject[Any]) -> bool: ...
    @abstractmethod
    def __le__(self, other: Subject[Any]) -> bool: ...
    @abstractmethod
    def __gt__(self, other: Subject[Any]) -> bool: ...
    @abstractmethod
    def __ge__(self, other: Subject[Any]) -> bool: ...


class Substrate(ABC):
    """A component that has a subject."""

    __slots__ = ()

    @property
    @abstractmethod
    def subject(self) -> Subject[Any]:
        """The component's subject, the same object every time (SUBJECT-IDENT-02)."""

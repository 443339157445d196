"""What each policy says of a request, without anything being changed."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_config_providers.core.policy import AlterConfigPolicy, Moment, NamedPolicy, RequestMetadata, denials
from airflow_config_providers.dynamic.policies.policy_set import MatchedPolicy


@dataclass(frozen=True, slots=True)
class PolicyVerdict:
    """
    The verdict of one policy.

    :param policy: the name of the policy
    :param at: the occasion; None if the policy was only opened
    :param text: ``denies``, ``allows``, or ``not asked`` if the policy is not about this resource; None as above
    :param reasons: the reasons of a denial, without values
    """

    policy: str
    at: Moment | None = None
    text: str | None = None
    reasons: tuple[str, ...] = ()


class Seeing(AlterConfigPolicy):
    """Allows everything, and keeps the last request."""

    request: RequestMetadata

    def validate(self, request: RequestMetadata) -> None:
        """Keep ``request``."""
        self.request = request


def verdict_of(policy: NamedPolicy, request: RequestMetadata | None) -> PolicyVerdict:
    """Ask a policy; without a request, say only that it was opened."""
    if request is None:
        return PolicyVerdict(policy.name)
    if reasons := denials([policy], request):
        return PolicyVerdict(policy.name, request.at, "denies", tuple(reasons))
    matched = policy.policy
    is_asked = not isinstance(matched, MatchedPolicy) or matched.is_asked(request)
    return PolicyVerdict(policy.name, request.at, "allows" if is_asked else "not asked")

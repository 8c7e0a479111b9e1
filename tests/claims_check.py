"""What holds for the claims of every report."""

from topicture_experiments.shared.summary import REPORTS, Claim, claims_of


def checked_claims(report: str, evidence: dict) -> dict[str, Claim]:
    """Claim -> its line of the summary; every one has its size in the paper, and a reason where it does not hold."""
    claims = claims_of(report, evidence)
    assert {claim.claim for claim in claims} == set(REPORTS[report].said)
    assert all(claim.published for claim in claims)
    assert all(claim.why for claim in claims if claim.verdict != "holds")
    return {claim.claim: claim for claim in claims}

"""A result with a front of 1,000 designs in a space of more than 50,000."""

from itertools import islice, product

from codesign.records import Record


def enlarged(result: Record) -> Record:
    """Return the result with a larger space, and a front whose figures are made up."""
    space = result["study"]["space"] | {
        "experts": list(range(8, 521, 8)),
        "draft_tokens": list(range(16)),
    }
    shapes = product(space["experts"], range(1, 9), (0, 1, 2), space["draft_tokens"][:6])
    own = [result["best"]["design"], result["reference"]["design"]]
    width = own[0]["expert_width"]
    front = [
        {
            "design": {
                "experts": experts, "top_k": top_k, "shared_experts": shared,
                "draft_tokens": length, "expert_width": width,
            },
            "objectives": {"sd_speedup": 1.0 + n / 997, "loss_difference": n / 99_991},
            "constraints": {},
        }
        for n, (experts, top_k, shared, length) in enumerate(islice(shapes, 0, 9000, 9))
    ]  # fmt: skip
    return result | {"study": result["study"] | {"space": space}, "front": front}

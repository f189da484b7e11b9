"""Plans with other phases than they were made with."""

from dpqr.kernel.values import replace


def without(plan, *nouns):
    return replace(plan, phases=tuple(phase for phase in plan.phases if phase.noun not in nouns))


def changed(plan, noun, **changes):
    """The plan with these fields of its phases of that noun."""
    phases = (replace(phase, **changes) if phase.noun == noun else phase for phase in plan.phases)
    return replace(plan, phases=tuple(phases))


def first(plan, *phases):
    """The plan with more phases before its own."""
    return replace(plan, phases=(*phases, *plan.phases))

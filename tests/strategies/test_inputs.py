from dpqr.strategies.plan import PublicInputs


def test_public_inputs_stand_apart_from_the_files_they_name() -> None:
    inputs = PublicInputs(request={"options": {}}, files={"weights.npz": b"..."})
    assert "..." not in repr(inputs)
    assert inputs.locked is None

from dpqr.kernel.errors import DocumentError, Fault


def test_a_fault_names_its_document_and_place():
    assert str(Fault(message="is wrong", document="q.json", path="$.a")) == "q.json: $.a: is wrong"
    assert str(Fault(message="is wrong")) == "is wrong"


def test_an_error_of_no_document_is_one_fault():
    error = DocumentError("is wrong")
    assert (error.faults, error.more, str(error)) == ((Fault(message="is wrong"),), False, "is wrong")

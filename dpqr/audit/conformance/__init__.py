"""What rules, engines and learners of third parties must keep."""

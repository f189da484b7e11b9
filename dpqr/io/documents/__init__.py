"""Public documents: the domain file and the queries file, decoded strictly into a Domain and a Workload."""

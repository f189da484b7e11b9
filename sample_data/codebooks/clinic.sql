-- A made-up clinic; the table's definition alone, as pg_dump -s writes it.
CREATE TYPE ward AS ENUM ('north', 'south', 'intensive care');

CREATE TABLE public.clinic (
    patient_id bigint NOT NULL,
    visit_date date CHECK (visit_date BETWEEN '2023-01-01' AND '2024-12-31'),
    ward ward NOT NULL,
    age smallint CHECK (age >= 0 AND age <= 110),
    triage smallint CHECK (triage IN (1, 2, 3, 4, 5)),
    temperature numeric(3,1),
    sex character varying(6),
    insured boolean,
    CONSTRAINT plausible CHECK (temperature BETWEEN 34 AND 42.5),
    CONSTRAINT known_sex CHECK ((sex)::text = ANY ((ARRAY['female'::character varying, 'male'::character varying])::text[]))
);

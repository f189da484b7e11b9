"""Any result for a terminal, a notebook and a browser.

Other rooms import these modules, and no others:

    answers     answers as tables
    budget      budgets, prices and sessions as text
    charts      bars, heat maps and curves in the terminal
    comparison  two releases or plans side by side
    evaluation  exact errors of a release
    forecast    forecasts and explanations as text
    guide       the topics of the guide, and their text on a terminal
    html        views and facts for notebooks; faults as lines
    label       one card for whoever meets the figures of a release
    page.parts  sections, tables, cards; their input and their HTML
    release     a release on the screen
    reports     page, registry record and dataset card of a release
    series      releases at several points in time

Inside:

    page.charts        charts of a page
    page.documents     chapters of documents, and the checklist
    page.release_page  the pages of a release and of a plan
"""

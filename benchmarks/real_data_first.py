"""The first 51 problems of `real_data.py`: the "making" and the "judging" half."""

from __future__ import annotations

from real_data_entry import Entry

# fmt: off
REGRESSION_NATURAL = (
    Entry(
        "airfare", "wooldridge/airfare", "fare", transform="log",
        source="year <= 1998", target="year == 2000",
        drop=("id", "lfare", "y98", "y99", "y00", "ldistsq"),
        why="id identifies the route; lfare is the label; y98 to y00 define the split",
    ),
    Entry(
        "ames", "modeldata/ames", "Sale_Price", transform="log",
        source="Latitude >= 42.034", target="Latitude < 42.034",
        drop=("Longitude", "Neighborhood"), why="place gives the split (north and south) away",
    ),
    Entry(
        "auto", "ISLR/Auto", "mpg", source="origin == 1", target="origin != 1",
        drop=("name",), why="name identifies the car and with it the origin",
    ),
    Entry(
        "budget_food", "Ecdat/BudgetFood", "wfood", source="town >= 4", target="town <= 2",
    ),
    Entry(
        "computers", "Ecdat/Computers", "price", transform="log",
        source="trend <= 18", target="trend >= 24",
        drop=("ads",), why="ads is the number of advertisements of the month: it tells the month",
    ),
    Entry(
        "cps1988", "AER/CPS1988", "wage", transform="log",
        source="region != 'south'", target="region == 'south'",
    ),
    Entry(
        "diamonds", "ggplot2/diamonds", "price", transform="log",
        source="cut in ['Ideal', 'Premium', 'Very Good']", target="cut in ['Fair', 'Good']",
    ),
    Entry(
        "doctor_visits", "COUNT/rwm5yr", "docvis", transform="log1p",
        source="year <= 1985", target="year == 1988",
        drop=("id", "edlevel1", "edlevel2", "edlevel3", "edlevel4"),
        why="id identifies the person; edlevel1 to 4 repeat edlevel",
    ),
    Entry(
        "flights", "openintro/nycflights", "arr_delay",
        source="month <= 6", target="month >= 7",
        drop=("year", "day", "arr_time", "air_time", "tailnum", "flight", "dep_time", "minute"),
        why="arr_time and air_time are known only on arrival; tailnum and flight identify",
    ),
    Entry(
        "guns", "AER/Guns", "violent", transform="log",
        source="law == 'no'", target="law == 'yes'",
        drop=("murder", "robbery", "state"),
        why="murders and robberies are part of the label; state identifies",
    ),
    Entry(
        "hitters", "ISLR/Hitters", "Salary", transform="log",
        source="League == 'A'", target="League == 'N'",
        drop=("NewLeague",), why="NewLeague mostly equals League, which is the split",
    ),
    Entry(
        "life_expectancy", "dslabs/gapminder", "life_expectancy",
        source="continent in ['Asia', 'Americas', 'Europe']", target="continent == 'Africa'",
        drop=("country", "region"), why="country and region identify the continent",
    ),
    Entry(
        "psid_wages", "AER/PSID7682", "wage", transform="log",
        source="south == 'no'", target="south == 'yes'",
        drop=("id",), why="id identifies the person",
    ),
    Entry(
        "young_women", "sampleSelection/nlswork", "ln_wage",
        source="south == 0", target="south == 1",
        drop=("idcode",), why="idcode identifies the person",
        nominal=("race", "ind_code", "occ_code"),
    ),
)

REGRESSION_SELECTION = (
    Entry("body", "openintro/bdims", "wgt", select=("hgt", "age")),
    Entry(
        "college", "ISLR/College", "Outstate", select=("PhD", "Top10perc"),
    ),
    Entry("concrete", "modeldata/concrete", "compressive_strength", select=("age", "cement")),
    Entry(
        "fuel", "openintro/epa2021", "comb_mpg", select=("engine_displacement",),
        drop=(
            "city_mpg", "hwy_mpg", "guzzler", "carline", "model_type_index", "mfr_code",
            "division", "model_yr", "release_date", "air_aspir_method", "transmission",
            "drive_sys", "fuel_usage", "fuel_cell",
        ),
        why="city and highway mileage and the guzzler tax are the label; names and codes repeat",
    ),
    Entry(
        "interest_rate", "openintro/loans_full_schema", "interest_rate",
        select=("annual_income", "debt_to_income", "total_credit_lines"),
        drop=(
            "grade", "sub_grade", "installment", "emp_title", "loan_status", "balance",
            "paid_total", "paid_principal", "paid_interest", "paid_late_fees", "issue_month",
            "initial_listing_status", "disbursement_method",
        ),
        why="the grade fixes the rate; payments come after it; emp_title is free text",
    ),
    Entry(
        "maths", "mlmRev/Exam", "normexam", select=("standLRT",),
        drop=("student", "school", "schavg"), why="student and school identify",
    ),
    Entry(
        "sacramento", "modeldata/Sacramento", "price", transform="log",
        select=("sqft", "longitude"), drop=("zip",), why="zip repeats the place",
    ),
    Entry(
        "saratoga", "mosaicData/SaratogaHouses", "price", transform="log",
        select=("livingArea", "age"),
    ),
    Entry(
        "stackoverflow", "modeldata/stackoverflow", "Salary", transform="log",
        keep="Salary > 1000", select=("YearsCodedJob", "CompanySizeNumber"),
    ),
)

TWO_CLASSES_NATURAL = (
    Entry(
        "arrests", "carData/Arrests", "released", 2,
        source="year <= 1999", target="year >= 2001",
    ),
    Entry(
        "attrition", "modeldata/attrition", "Attrition", 2,
        source="Department == 'Research_Development'", target="Department == 'Sales'",
        drop=("JobRole", "EducationField"),
        why="job role and field of education give the department away",
    ),
    Entry(
        "birth_weight", "MASS/birthwt", "low", 2, source="race == 1", target="race != 1",
        drop=("bwt",), why="low is bwt below 2500 g",
    ),
    Entry(
        "credit", "modeldata/credit_data", "Status", 2,
        source="Home == 'owner'", target="Home in ['rent', 'parents', 'priv']",
    ),
    Entry(
        "crashes", "DAAG/nassCDS", "dead", 2,
        source="yearacc <= 1999", target="yearacc >= 2001",
        drop=("injSeverity", "weight", "caseid"),
        why="the severity of the injury contains the label; weight and caseid are the survey's",
    ),
    Entry(
        "health_insurance", "AER/HealthInsurance", "insurance", 2,
        source="region != 'south'", target="region == 'south'",
    ),
    Entry("mortgage", "AER/HMDA", "deny", 2, source="afam == 'no'", target="afam == 'yes'"),
    Entry(
        "orange_juice", "ISLR/OJ", "Purchase", 2,
        source="StoreID != 7", target="StoreID == 7",
        drop=("Store7", "STORE"), why="both repeat the store, which is the split",
    ),
    Entry("pima", "MASS/Pima.te", "type", 2, source="age < 30", target="age >= 30"),
    Entry(
        "telecom", "modeldata/wa_churn", "churn", 2,
        source="senior_citizen == 0", target="senior_citizen == 1",
    ),
    Entry("titanic", "vcdExtra/Titanicp", "survived", 2, source="pclass == '3rd'",
          target="pclass != '3rd'"),
)

TWO_CLASSES_SELECTION = (
    Entry("biopsy", "MASS/biopsy", "class", 2, select=("V1",), drop=("ID",), why="ID identifies"),
    Entry("caravan", "ISLR/Caravan", "Purchase", 2, select=("MINKGEM", "MOPLHOOG", "MHKOOP")),
    Entry(
        "cells", "modeldata/cells", "class", 2, select=("avg_inten_ch_1", "area_ch_1"),
        drop=("case",), why="case is the original split into training and test",
    ),
    Entry(
        "churn", "modeldata/mlc_churn", "churn", 2,
        select=("total_day_minutes", "account_length"),
    ),
    Entry(
        "email", "openintro/email", "spam", 2, select=("num_char",),
        drop=("time",), why="time of arrival identifies the message",
    ),
    Entry(
        "heart", "DAAG/monica", "outcome", 2, select=("age", "yronset"),
        drop=("hosp",), why="nearly all who did not reach a hospital had died",
    ),
    Entry(
        "light_chains", "survival/flchain", "death", 2, select=("kappa", "sample.yr"),
        drop=("futime", "chapter"), why="time to death and its cause contain the label",
    ),
    Entry(
        "loan_approval", "wooldridge/loanapp", "approve", 2, select=("appinc", "obrat"),
        drop=("reject", "action"), why="both are the label", nominal=("msa",),
    ),
)

MORE_CLASSES_NATURAL = (
    Entry(
        "chile_vote", "carData/Chile", "vote", 3, keep="vote in ['N', 'U', 'Y']",
        source="region != 'SA'", target="region == 'SA'",
        drop=("population",), why="the size of the community gives the region away",
    ),
    Entry(
        "computing", "modeldata/hpc_data", "class", 4,
        source="day in ['Mon', 'Tue', 'Wed']", target="day in ['Fri', 'Sat', 'Sun']",
    ),
    Entry(
        "happiness", "wooldridge/happiness", "happy", 3,
        source="year <= 1996", target="year >= 2004",
        drop=(
            "vhappy", "y94", "y96", "y98", "y00", "y02", "y04", "y06", "gwbush00", "gwbush04",
            "blackfemale", "occattend", "regattend", "unem10", "owngun", "divorce", "widowed",
        ),
        why="vhappy is the label; the others tell the year, by being asked or not, or repeat",
    ),
    Entry(
        "poverty", "carData/WVS", "poverty", 3,
        source="country in ['USA', 'Australia']", target="country in ['Norway', 'Sweden']",
    ),
    Entry(
        "storms", "dplyr/storms", "status", 4,
        keep="status in ['tropical storm', 'hurricane', 'tropical depression', 'extratropical']",
        source="year <= 2000", target="year >= 2010",
        drop=(
            "name", "category", "wind", "day", "hour", "tropicalstorm_force_diameter",
            "hurricane_force_diameter",
        ),
        why="wind and category define the label; name identifies; diameters exist only lately",
    ),
)

MORE_CLASSES_SELECTION = (
    Entry(
        "british_vote", "carData/BEPS", "vote", 3, select=("age", "Europe"),
    ),
    Entry(
        "leaves", "modeldata/leaf_id_flavia", "shape", 3, select=("aspect_ratio", "mean_red_val"),
        keep="shape in ['simple_round', 'diamond', 'heart_shape']",
        drop=("species", "apex", "base"), why="the species fixes the shape",
    ),
    Entry(
        "penguins", "palmerpenguins/penguins", "species", 3, select=("bill_length_mm",),
        drop=("year",), why="the year is that of the expedition",
    ),
    Entry(
        "personality", "psych/bfi", "education", 3, select=("age",), keep="education >= 3",
    ),
)
# fmt: on

ENTRIES = (
    *REGRESSION_NATURAL,
    *REGRESSION_SELECTION,
    *TWO_CLASSES_NATURAL,
    *TWO_CLASSES_SELECTION,
    *MORE_CLASSES_NATURAL,
    *MORE_CLASSES_SELECTION,
)

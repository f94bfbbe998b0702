"""Run the count of the checks after the checks."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name == "test_the_suite_seldom_raises_a_false_alarm")

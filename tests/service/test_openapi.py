"""Whatever fits the description of the addresses, or does not, gets an answer that the description names: never a 500.

Requests are made by schemathesis from the OpenAPI document, and go over the loopback to a collector with reports.
"""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service_worlds import NOON, TODAY, message, survey_of
from tacit.service.app import Collector, make_app
from tacit.service.mixing import close_due
from tacit.service.openapi import document
from tacit.service.settings import Settings
from tacit.service.tokens import Scope

SURVEY = survey_of(late=1)
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


@pytest.fixture
def served(store, tmp_path):
    """The address of a collector that has reports of a closed day and of today, and an administrator's token."""
    store.add_survey(SURVEY)
    store.add([SURVEY.addition(message(SURVEY, [TODAY - 1, TODAY] * 50), NOON)])
    close_due(store, SURVEY, NOON + timedelta(days=1), tmp_path)
    app = make_app(Collector(store, tmp_path, settings=Settings(per_second=1e9), clock=lambda: NOON))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", store.tokens.new(Scope.ADMIN)
    server.should_exit = True
    thread.join(30)


@pytest.mark.slow
def test_no_request_is_answered_in_a_way_that_the_description_does_not_name(served):
    url, token = served
    schema = schemathesis.openapi.from_dict(document())
    operations = [one.ok() for one in schema.get_all_operations()]
    assert len(operations) > 20
    modes = [GenerationMode.POSITIVE, GenerationMode.NEGATIVE]
    cases = st.one_of(*(one.as_strategy(generation_mode=mode) for one in operations for mode in modes))
    answered = set()

    @settings(max_examples=100, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=cases, is_known=st.booleans(), has_token=st.booleans())
    def asked(case, is_known, has_token):
        if is_known and "survey" in case.path_parameters:
            case.path_parameters["survey"] = SURVEY.id
        headers = {"Authorization": f"Bearer {token}"} if has_token else {}
        answer = case.call(base_url=url, headers=headers, timeout=120)  # closing makes a page
        answered.add(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    asked()
    assert len(answered) > 2

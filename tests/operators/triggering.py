"""What a triggerer does with a deferred task, by the message with which it was deferred."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from importlib import import_module

from airflow.sdk.serde import deserialize, serialize


def stored_trigger(message):
    """Return the trigger as Airflow has stored it."""
    module, _, name = message.classpath.rpartition(".")
    return getattr(import_module(module), name)(**deserialize(json.loads(json.dumps(message.trigger_kwargs))))


def first_event(trigger):
    """Run a trigger until its first event, and return that."""

    async def first():
        async with aclosing(trigger.run()) as events:
            return await anext(events)

    return asyncio.run(first())


def resumption(message, payload):
    """Return what the task is resumed with after an event, as Airflow stores it."""
    kwargs = {**deserialize(json.loads(json.dumps(message.next_kwargs))), "event": payload}
    return message.next_method, json.loads(json.dumps(serialize(kwargs)))

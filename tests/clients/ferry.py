"""The repository that a session learns about, and what is said in the two sessions.

Made up and small, as fixture.py's; but there each question has its words in one file, and here several have them, so that
a gateway without memory has to guess which of those with minutes, vehicles and places in them is meant.
"""

FILES = {
    "README.md": """# Ferrygate

Ferrygate sells places on a car ferry, calls vehicles aboard and says on the boards what is late.
""",
    "booking/hold.py": '''"""A place that is kept for a vehicle until it is paid."""

HOLD_MINUTES = 15


def hold_is_over(vehicle, minute):
    """Whether a vehicle that is late with its payment loses the place that was kept for it."""
    return minute - vehicle.booked_at > HOLD_MINUTES
''',
    "booking/standby.py": '''"""Vehicles without a booking, which wait for a place that a late vehicle loses."""

STANDBY_MINUTES = 20


def next_standby(vehicles, minute):
    """The vehicle that has waited longest for a place, if it came before the last minutes."""
    waiting = [vehicle for vehicle in vehicles if minute - vehicle.came_at < STANDBY_MINUTES]
    return min(waiting, key=lambda vehicle: vehicle.came_at, default=None)
''',
    "booking/refund.py": '''"""What is paid back to who loses a place."""

FULL_REFUND_MINUTES = 240


def refund_share(vehicle, departure):
    """All of the fare early enough, half of it for a vehicle that gives up its place late."""
    return 1.0 if departure - vehicle.cancelled_at >= FULL_REFUND_MINUTES else 0.5
''',
    "gate/checkin.py": '''"""The desk at which a vehicle checks in, some minutes before the departure."""

CHECKIN_MINUTES = 45


def is_late(vehicle, departure):
    """Whether a vehicle comes too late to take its place."""
    return departure - vehicle.came_at < CHECKIN_MINUTES
''',
    "gate/lanes.py": '''"""The rows in front of the ramp, from which one vehicle after another is called aboard."""

PATIENCE_MINUTES = 10


def passed_over(row, called_at, minute):
    """Everyone in a row who is too late to start the engine after the call, and loses the place to whoever is behind."""
    return [vehicle for vehicle in row if not vehicle.moving and minute - called_at > PATIENCE_MINUTES]
''',
    "gate/barrier.py": '''"""The barrier at the end of a row: up for one vehicle, down behind it."""


def may_rise(row, aboard):
    """Only for who is called, and while there is a place left."""
    return bool(row) and aboard.free > 0
''',
    "deck/stowage.py": '''"""Which place on the deck a vehicle gets: heavy ones in the middle, high ones under the hatch."""


def place_of(vehicle, free):
    """The first free place that takes the weight and the height of a vehicle."""
    fitting = (place for place in free if place.height >= vehicle.height and place.load >= vehicle.weight)
    return next(fitting, None)
''',
    "deck/ramp.py": '''"""The ramp, which follows the tide."""

STEEPEST = 0.12


def is_passable(rise, length):
    """Whether a low vehicle can take the ramp as it stands."""
    return rise / length <= STEEPEST
''',
    "notice/boards.py": '''"""What the boards on the quay say."""


def board_line(departure, minutes_late):
    """One line for a departure, with the minutes that it is late."""
    return f"{departure.name:<12} {departure.at}" + (f"  {minutes_late} min late" if minutes_late else "")
''',
    "notice/messages.py": '''"""Short messages to drivers."""


def reminder(vehicle, minutes):
    """Tells a driver how many minutes are left before the place is lost."""
    return f"{vehicle.plate}: {minutes} minutes left, then your place is given to another vehicle."
''',
    "store/journal.py": '''"""Everything that happens at the gate, one line each."""


def note(handle, minute, event, vehicle):
    """Appends an event of a vehicle."""
    handle.write(f"{minute};{event};{vehicle.plate}\\n")
''',
}

# The first session: what is asked, what is done for it, and what is said. The names of persons are nowhere in the files.
QUESTION = "Vehicles that are late lose their place after too few minutes. Give them twice as long, says Persephone."
EDITED, CITED, READ = "gate/lanes.py", "notice/messages.py", "deck/ramp.py"
EDIT = {"old_string": "PATIENCE_MINUTES = 10", "new_string": "PATIENCE_MINUTES = 20"}
ANSWER = f"The patience in `{EDITED}` is doubled. What {CITED}:4 tells the drivers stays true, as Eurydice may confirm."
THANKS = "Thank you. Does Calliope have to restart anything for this?"
# Between the sessions, and the next one.
FACT = "On the last departure of the day a late vehicle loses its place only when the ramp goes up."
LIKE_QUESTION = "How many minutes does a late vehicle have before it loses its place?"
NEXT_QUESTION = "And which message does the driver get meanwhile?"
NAMES = ["Persephone", "Eurydice", "Calliope"]

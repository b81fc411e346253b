"""Makes the tables of the guide: invented measurements of invented birds, invented houses, and invented days of a clinic.

Three species overlap in some measurements, one of the columns is text, and `gulls.csv` holds birds of
another kind that no model has seen. Run: python3 make.py (standard library only).
"""

import csv
import math
import random

random.seed(20261116)

SPECIES = {
    # bill length, bill depth (mm), flipper (mm), mass (g); islands they live on
    "ash": ((38.8, 2.7), (18.3, 1.2), (190, 6.5), (3700, 460), ["Norr", "Vik", "Sund"]),
    "birch": ((48.8, 3.3), (18.4, 1.1), (196, 7.1), (3730, 380), ["Norr"]),
    "cedar": ((47.5, 3.1), (15.0, 1.0), (217, 6.5), (5080, 500), ["Vik", "Sund"]),
}
HEADER = ["bill_length", "bill_depth", "flipper", "mass", "island", "species"]


def bird(species):
    length, depth, flipper, mass, islands = SPECIES[species]
    return [
        f"{random.gauss(*length):.1f}",
        f"{random.gauss(*depth):.1f}",
        f"{random.gauss(*flipper):.0f}",
        f"{random.gauss(*mass):.0f}",
        random.choice(islands),
        species,
    ]


def write(name, header, rows):
    with open(name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def birds(count):
    return [bird(random.choices(list(SPECIES), [4, 2, 3])[0]) for _ in range(count)]


write("birds.csv", HEADER, birds(240))
write("birds-test.csv", HEADER, birds(150))
new = [[f"ring-{i + 1}"] + row[:-1] for i, row in enumerate(birds(6))]
write("birds-new.csv", ["id"] + HEADER[:-1], new)
gulls = [
    [f"{random.gauss(56, 3):.1f}", f"{random.gauss(21, 1.5):.1f}", f"{random.gauss(160, 8):.0f}",
     f"{random.gauss(1100, 150):.0f}", random.choice(["Norr", "Vik", "Sund"])]
    for _ in range(80)
]
write("gulls.csv", HEADER[:-1], gulls)


def house():
    area, rooms, age = random.uniform(40, 220), random.randint(1, 7), random.uniform(0, 90)
    district = random.choice(["centre", "harbour", "hills"])
    factor = {"centre": 1.25, "harbour": 1.0, "hills": 0.85}[district]
    price = factor * (40 + 2.1 * area + 9 * rooms + 0.012 * (age - 45) ** 2)
    return [f"{area:.0f}", rooms, f"{age:.0f}", district, f"{random.gauss(price, 18):.1f}"]


HOUSES = ["area", "rooms", "age", "district", "price"]
write("houses.csv", HOUSES, [house() for _ in range(220)])
write("houses-test.csv", HOUSES, [house() for _ in range(120)])


def poisson(rate):
    """By multiplying uniform numbers (Knuth): the rates are small."""
    count, product = 0, random.random()
    while product > math.exp(-rate):
        count, product = count + 1, product * random.random()
    return count


def day():
    temperature, humidity = random.uniform(-5, 35), random.uniform(20, 95)
    heat = max(0.0, temperature - 20) / 15
    visits = poisson(math.exp(0.8 + 0.9 * heat + 0.004 * humidity))
    fever = random.random() < 1 / (1 + math.exp(1.5 - 2.5 * heat))
    cough = random.random() < 1 / (1 + math.exp(-1.5 + 0.12 * temperature))
    # How long patients wait varies more the hotter it is.
    wait = random.gauss(20 + 6 * heat, 1 + 6 * heat)
    return [f"{temperature:.1f}", f"{humidity:.0f}", visits, "yes" if fever else "no", "yes" if cough else "no", f"{wait:.1f}"]


CLINIC = ["temperature", "humidity", "visits", "fever", "cough", "wait"]
write("clinic.csv", CLINIC, [day() for _ in range(240)])
write("clinic-test.csv", CLINIC, [day() for _ in range(150)])

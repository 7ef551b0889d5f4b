"""What benchmarks/classroom.py is made of: a made class, the stock tools' notebooks, and a stopwatch."""

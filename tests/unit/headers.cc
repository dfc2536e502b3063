// The headers of every unit test, compiled once: tests/CMakeLists.txt names them.

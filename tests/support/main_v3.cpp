// Catch2 v3 brings its own main; a static library needs one source.
namespace nsa::test {}

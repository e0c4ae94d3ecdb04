// The scanner alone, over files that lie in memory.
#include "catch.hpp"
#include "digest.hpp"
#include "scan.hpp"

using namespace nsa::source_hash;

namespace {

using Texts = std::map<std::string, std::string>;
using Files = std::set<std::string>;

Scanner scanner_of(const Texts& texts) {
  return Scanner({"kernels/include", "kernels"},
                 [&texts](const std::string& path) -> std::optional<std::string> {
                   const auto found = texts.find(path);
                   if (found == texts.end()) return std::nullopt;
                   return found->second;
                 });
}

Files files_of(const Texts& texts, const std::string& unit) {
  return scanner_of(texts).files_of(unit);
}

std::string hash_of(const Texts& texts, const std::vector<std::string>& units) {
  return scanner_of(texts).hash_of({"row", units});
}

}  // namespace

TEST_CASE("SHA-256 gives the examples of the standard and of blocks that are just full") {
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(64, 'a')) ==
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  CHECK(sha256_hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("An include is looked for beside its file, then in the folders in their order") {
  const Texts texts{{"kernels/a/unit.cu", "#include \"x.hpp\"\n  #  include \"y.hpp\"\n"},
                    {"kernels/a/x.hpp", ""},
                    {"kernels/x.hpp", ""},
                    {"kernels/y.hpp", "#include \"a/../a/z.hpp\""},
                    {"kernels/include/y.hpp", "#include <nsa/w.hpp>"},
                    {"kernels/include/nsa/w.hpp", ""}};
  CHECK(files_of(texts, "kernels/a/unit.cu") == Files{"kernels/a/unit.cu", "kernels/a/x.hpp",
                                                      "kernels/include/y.hpp",
                                                      "kernels/include/nsa/w.hpp"});
}

TEST_CASE("Headers behind an #if and headers that include each other count once") {
  const Texts texts{{"kernels/unit.cpp", "#ifdef NEVER\n#include \"x.hpp\"\n#endif\n"},
                    {"kernels/x.hpp", "#pragma once\n#include \"y.hpp\"\n"},
                    {"kernels/y.hpp", "#pragma once\n#include \"x.hpp\"\n"}};
  CHECK(files_of(texts, "kernels/unit.cpp") ==
        Files{"kernels/unit.cpp", "kernels/x.hpp", "kernels/y.hpp"});
}

TEST_CASE("What the repository does not hold is no file of a unit") {
  const Texts texts{{"kernels/unit.cpp",
                     "#include <vector>\n#include \"made_by_the_build.hpp\"\n"
                     "// #include \"x.hpp\"\n#define X \"x.hpp\"\n"},
                    {"kernels/x.hpp", ""}};
  CHECK(files_of(texts, "kernels/unit.cpp") == Files{"kernels/unit.cpp"});
}

TEST_CASE("A unit that is not there and an include of a macro stop the build") {
  const Texts texts{{"kernels/unit.cpp", "#include NAME\n"}};
  CHECK_THROWS_WITH(files_of(texts, "kernels/gone.cpp"), "kernels/gone.cpp: there is no such file");
  CHECK_THROWS_WITH(files_of(texts, "kernels/unit.cpp"),
                    "kernels/unit.cpp: an include that names no file: #include NAME");
}

TEST_CASE("A hash follows the code of its files, and neither their names nor the order of units") {
  const Texts texts{{"kernels/a.cpp", "1"}, {"kernels/b.cpp", "2"}};
  const std::string hash = hash_of(texts, {"kernels/a.cpp", "kernels/b.cpp"});
  CHECK(hash.size() == 16);
  CHECK(hash == hash_of(texts, {"kernels/b.cpp", "kernels/a.cpp"}));
  CHECK(hash != hash_of(texts, {"kernels/a.cpp"}));
  const Texts renamed{{"kernels/a.cpp", "1"}, {"kernels/c/c.cpp", "2"}};
  CHECK(hash == hash_of(renamed, {"kernels/a.cpp", "kernels/c/c.cpp"}));
  const Texts twice{{"kernels/a.cpp", "1"}, {"kernels/b.cpp", "2"}, {"kernels/c.cpp", "2"}};
  CHECK(hash != hash_of(twice, {"kernels/a.cpp", "kernels/b.cpp", "kernels/c.cpp"}));
}

TEST_CASE("A header that moved, comments and white space leave a hash as it is; code does not") {
  const auto hash = [](const std::string& unit, const std::string& header) {
    return hash_of({{"kernels/u.cpp", unit}, {header, "int f();  // one\n"}}, {"kernels/u.cpp"});
  };
  const std::string before = hash("#include \"x.hpp\"\nint a = f();\n", "kernels/x.hpp");
  CHECK(before == hash("/// Two\n#include \"deep/x.hpp\"\n\n  int a = f(); /* b\nc */\n",
                       "kernels/deep/x.hpp"));
  CHECK(before != hash("#include \"x.hpp\"\nint b = f();\n", "kernels/x.hpp"));
  CHECK(before != hash("#include \"other.hpp\"\nint a = f();\n", "kernels/x.hpp"));
}

TEST_CASE("What looks like a comment inside of a literal is code") {
  CHECK(code_text("auto a = \"//x\";  // y") == "auto a = \"//x\";\n");
  CHECK(code_text("auto a = \"\\\"//x\"; /**/") == "auto a = \"\\\"//x\";\n");
  CHECK(code_text("char q = '\"'; // z\nchar r = '/';") == "char q = '\"';\nchar r = '/';\n");
  CHECK(code_text("int m = 1'000; // '\nint n;") == "int m = 1'000;\nint n;\n");
  CHECK(code_text("auto r = R\"x(/* \" // )x\"; // c") == "auto r = R\"x(/* \" // )x\";\n");
  CHECK(code_text("// a \\\nstill a comment\nint b;") == "int b;\n");
  CHECK(code_text("int a; /* never closed") == "int a;\n");
  CHECK(code_text("#define INCLUDED 1\n # include <x>\n") == "#define INCLUDED 1\n");
}

TEST_CASE("The build's file of lists is read, and a line that is none is refused") {
  const Lists lists = parse_lists("include kernels\nlist row kernels/a.cpp kernels/b.cu\n");
  CHECK(lists.include_folders == std::vector<std::string>{"kernels"});
  REQUIRE(lists.lists.size() == 1);
  CHECK(lists.lists[0].name == "row");
  CHECK(lists.lists[0].units == std::vector<std::string>{"kernels/a.cpp", "kernels/b.cu"});
  CHECK_THROWS_WITH(parse_lists("rows kernels/a.cpp\n"),
                    "neither an include folder nor a list: rows kernels/a.cpp");
}

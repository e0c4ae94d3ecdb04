// The file of link targets, and what is made of it.
#include "catch.hpp"
#include "program.hpp"

namespace nsa::test {

TEST_CASE("the file of link targets is printed, edited, read and refused", "[cli]") {
  const Folder folder;
  const Result printed = nsatune(folder, "devices --print-link-targets");
  CHECK(printed.exit_code == 0);
  folder.write("links.json", printed.out);
  CHECK(nsatune(folder, "devices --link-targets " + folder.file("links.json")).exit_code == 0);
  const auto again = [&](const std::string& text) {
    folder.write("links.json", text);
    return nsatune(folder,
                   "devices --print-link-targets --link-targets " + folder.file("links.json"));
  };
  CHECK(again(printed.out).out == printed.out);
  const Result edited = again(R"({"schema_version": 1, "pcie_share": [0.5, 0.7]})");
  CHECK(edited.out.find("0.5") != std::string::npos);
  CHECK(edited.out.find("nvlink_share") != std::string::npos);
  for (const char* bad :
       {"{}", "[]", "3", R"({"schema_version": "1"})", R"({"schema_version": 2})",
        R"({"schema_version": 1, "pcie_share": [0.9, 0.5]})",
        R"({"schema_version": 1, "pcie_share": 3})", R"({"schema_version": 1, "pci": [0.1, 0.2]})",
        R"({"schema_version": 1, "nvlink_share": [0.1, 1.5]})", "{"}) {
    CAPTURE(bad);
    const Result refused = again(bad);
    CHECK(refused.exit_code == 2);
    CHECK(refused.err.find("links.json") != std::string::npos);
  }
  CHECK(nsatune(folder, "devices --link-targets absent.json").exit_code == 2);
}

TEST_CASE("devices has the links of each GPU in its document", "[cli]") {
  const Folder folder;
  const Json document = json_of(nsatune(folder, "devices --json"), "devices");
  std::size_t gpus = 0;
  for (const Json& device : document["devices"]) gpus += device["id"] != "cpu";
  CHECK(document["links"].size() == gpus);
}

}  // namespace nsa::test

// Readers and writers of the formats; formats.cpp is their table.
#pragma once

#include "nsa/exchange/exchange.hpp"

namespace nsa::exchange {

Bundle write_own_csv(const Results& results, const std::string& file_name);
Imported read_own_csv(const Input& input);
Bundle write_own_json(const Results& results, const std::string& file_name);
Imported read_own_json(const Input& input);
Bundle write_kernel_tuner(const Results& results, const std::string& file_name);
Imported read_kernel_tuner(const Input& input);
Bundle write_t4(const Results& results, const std::string& file_name);
Imported read_t4(const Input& input);
Bundle write_nvbench(const Results& results, const std::string& file_name);
Imported read_nvbench(const Input& input);
Bundle write_google_benchmark(const Results& results, const std::string& file_name);
Imported read_google_benchmark(const Input& input);
Bundle write_tunableop(const Results& results, const std::string& file_name);
Imported read_tunableop(const Input& input);
Bundle write_otava(const Results& results, const std::string& file_name);
Imported read_otava(const Input& input);
Imported read_nsa_vibe(const Input& input);

}  // namespace nsa::exchange

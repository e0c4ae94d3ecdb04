// Stands in for libcuda.so.1: a driver of the time of CUDA 11.4, with what a runtime asks it first.
extern "C" {
int cuDriverGetVersion(int* version) {
  *version = 11040;
  return 0;
}
int cuInit(unsigned) { return 0; }
}

package fetch

// acceptEncoding is what we offer. Other codings are undone as well (package coding).
const acceptEncoding = "gzip, br, zstd"

package fetch

// acceptEncoding is what we offer. Other codings are undone as well (package coding). Zstd is not offered unasked:
// archives keep what was sent, and players and libraries of the field (pywb, ReplayWeb.page, warcio) do not read it
// back.
const (
	acceptEncoding = "gzip, br"
	withZstd       = ", zstd"
)

package coding

// Window is how many octets of what was decoded the decoders of undo may keep, for a body that begins with first. For
// br that is what its first octet declares (RFC 7932 9.1), unless another coding lies over it and hides that.
func Window(undo []string, first byte) (octets int64) {
	for _, coding := range undo {
		switch {
		case coding == "zstd":
			octets += maxZstdWindow
		case coding == "br" && len(undo) == 1:
			octets += 1 << brotliBits(first)
		case coding == "br":
			octets += 1 << 24
		default:
			octets += 32 << 10
		}
	}
	return octets
}

// brotliBits reads the size of the window off the first octet of a brotli stream, as a power of two.
func brotliBits(first byte) int {
	high, low := int(first>>1&7), int(first>>4&7)
	switch {
	case first&1 == 0:
		return 16
	case high > 0:
		return 17 + high
	case low > 1:
		return 8 + low
	}
	return 17 // or, with 1, no brotli
}

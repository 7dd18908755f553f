package proof

import (
	"encoding/hex"
	"fmt"
	"strings"

	"curtsy/storage/ledger/hostmap"
)

// parseHash reads a hash in lower case digits.
func parseHash(s string) (h hostmap.Hash, err error) {
	if !isDigest(s) {
		return h, fmt.Errorf("%.80q is not a SHA-256 in hexadecimal", s)
	}
	_, err = hex.Decode(h[:], []byte(s))
	return h, err
}

// isDigest reports whether s is a SHA-256 in hexadecimal digits.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func hexes[H ~[32]byte](hs []H) []string {
	all := make([]string, len(hs)) // an empty list is [] in JSON
	for i, h := range hs {
		all[i] = hex.EncodeToString(h[:])
	}
	return all
}

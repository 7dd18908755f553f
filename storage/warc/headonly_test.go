package warc

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABodyThatWasLeftOutHasItsDigestInTheMetadata(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Dir: dir})
	shy := withDecision(1)
	body := hex.EncodeToString(shy.PayloadDigest[:])
	shy.Response = io.NewSectionReader(shy.Response, 0, shy.HeadSize)
	shy.HeadOnly, shy.Repeatable, shy.Truncated, shy.Line.Payload = true, false, "unspecified", body
	write(t, w, shy, withDecision(2))
	closing(t, w)
	var digests []string
	for _, e := range read(t, filepath.Join(dir, "crawl-00000.warc.gz")) {
		switch e.Type {
		case "response":
			h, err := ReadHTTP(bytes.NewReader(e.block))
			require.NoError(t, err)
			b, err := io.ReadAll(h.Payload)
			require.NoError(t, err)
			declared := e.Fields.Get("WARC-Payload-Digest")
			if declared != "" && declared != fmt.Sprintf("sha256:%x", sha256.Sum256(b)) {
				t.Errorf("%s: a payload of %d octets, and the digest of another: %s", e.TargetURI(), len(b), declared)
			}
			digests = append(digests, declared)
		case "metadata":
			l, _, err := parseMetadata(bytes.NewReader(e.block), true)
			require.NoError(t, err)
			digests = append(digests, l.Payload)
		}
	}
	if len(digests) != 4 || digests[0] != "" || digests[1] != body || digests[2] == "" || digests[3] != "" {
		t.Errorf("digests of a body that was left out and of one that was not: %q", digests)
	}
}

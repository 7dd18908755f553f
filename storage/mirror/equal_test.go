package mirror

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func foreign(t *testing.T, path string, records ...[2]string) {
	t.Helper()
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "WARC/1.0\r\n%sWARC-Date: 2026-01-02T03:04:05Z\r\nWARC-Target-URI: http://a.test/x\r\nContent-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", r[0], len(r[1]), r[1])
	}
	require.NoError(t, os.WriteFile(path, []byte(b.String()), 0o600))
}

func TestRevisitsOfOneSecondDoNotDependOnSegments(t *testing.T) {
	const digest = "WARC-Payload-Digest: sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\r\n"
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
	response := func(n int) [2]string {
		return [2]string{fmt.Sprintf("WARC-Type: response\r\nWARC-Record-ID: <urn:uuid:%08d-0000-4000-8000-000000000000>\r\n"+digest, n), head + "the body"}
	}
	revisit := [2]string{"WARC-Type: revisit\r\nWARC-Record-ID: <urn:uuid:99999999-0000-4000-8000-000000000000>\r\n" +
		"WARC-Profile: http://netpreserve.org/warc/1.0/revisit/identical-payload-digest\r\nWARC-Refers-To-Date: 2026-01-02T03:04:05Z\r\n" + digest, head}
	var first map[string]string
	for _, names := range [][3]string{{"a", "b", "c"}, {"b", "a", "c"}, {"c", "a", "b"}, {"a", "c", "b"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		dir := t.TempDir()
		var paths []string
		for i, name := range names {
			path := filepath.Join(dir, name+".warc")
			foreign(t, path, [][2]string{response(1), response(2), revisit}[i])
			paths = append(paths, path)
		}
		built(t, Options{Archive: Archive{Segments: paths}, Dir: dir, hasty: true})
		tree := treeOf(t, Tree(dir))
		if first == nil {
			first = tree
		}
		mustBeEqual(t, strings.Join(names[:], ""), first, tree)
	}
	assert.Equalf(t, "the body", first["a.test/x.txt"], "the tree is %q", first)
}

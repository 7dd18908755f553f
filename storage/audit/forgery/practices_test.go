package forgery

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/cbcp"
)

// The polite crawl breaks none of the crawler best practices, told as ours and as another crawler's, and shows that it
// kept those that an archive can show.
func TestThePoliteCrawlBreaksNoPractice(t *testing.T) {
	dir := t.TempDir()
	crawl(t, dir)
	foreign := stranger(readEvidence(t, dir)).show().o.Files
	for name, files := range map[string][]string{"ours": {filepath.Join(dir, "warc", "curtsy-00000.warc.gz")}, "another's": foreign} {
		t.Run(name, func(t *testing.T) {
			j := cbcp.New(cbcp.Published{})
			r, err := audit.Run(t.Context(), audit.Options{Files: files, TempDir: t.TempDir(), Witnesses: []audit.Witness{j}})
			require.NoError(t, err)
			got := j.Conclude(r, nil)
			kept := map[string]bool{}
			for _, c := range got.Clauses {
				if kept[c.ID] = c.State == cbcp.Kept; c.State == cbcp.Broken {
					t.Errorf("%s: %s %+v", c.ID, c.Evidence, c.Examples)
				}
			}
			shown := "rep identifiable unique-name description-url re-crawl loops access get caching https"
			if name == "ours" { // metadata tell when exchanges ended, and what led to a URL
				shown += " x-robots-tag back-out visit-log one-at-a-time speed"
			}
			for _, id := range strings.Fields(shown) {
				assert.Truef(t, kept[id], "%s is not shown to be kept", id)
			}
		})
	}
}

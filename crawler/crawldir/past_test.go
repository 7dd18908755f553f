package crawldir

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawltest"
	"curtsy/frontier/canon"
)

// The index may be hostile: names in it must not lead to other files or to responses of other URLs.
func TestPast_ReadsItsOwnArchiveOnly(t *testing.T) {
	dir := crawled(t, crawltest.Tree("bakery.test", 3))
	path := in(dir, IndexName+"/curtsy-00000.cdxj")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	index := string(b)
	u, err := canon.Parse(regexp.MustCompile(`"(http://[^/"]+/)p1.html"`).FindStringSubmatch(index)[1])
	require.NoError(t, err)
	said := 0
	p := Past{
		Archive: in(dir, ArchiveName), Index: []string{path}, Spool: t.TempDir(),
		Before: time.Now().AddDate(9999, 0, 0), MaxBody: 1 << 20, Damaged: func(string, error) { said++ },
	}
	e, err := p.Last(t.Context(), u)
	require.Truef(t, err == nil && e != nil && e.Body != nil && said == 0, "%+v %v, %d complaints", e, err, said)
	// The index has seconds, records have microseconds.
	for later, had := range map[time.Duration]bool{0: false, time.Microsecond: true} {
		p.Before = e.Date.Add(later)
		e, err := p.Last(t.Context(), u)
		assert.Truef(t, err == nil && (e != nil) == had, "%v later: %+v %v", later, e, err)
	}
	p.Before = e.Date.Add(time.Microsecond)
	another := regexp.MustCompile(`(?m)^.*"http://[^/"]+/p1.html".*$`).FindString(index)
	for what, changed := range map[string]string{
		"a file elsewhere":     strings.ReplaceAll(index, `"curtsy-00000.warc.gz"`, `"../../../etc/passwd"`),
		"the place of another": strings.ReplaceAll(another, "p1.html", "") + "\n",
		"another offset":       strings.ReplaceAll(index, `"offset":"`, `"offset":"9`),
	} {
		require.NoError(t, os.WriteFile(path, []byte(changed), 0o600))
		said = 0
		e, err := p.Last(t.Context(), u)
		assert.Truef(t, err == nil && e == nil && said != 0, "%s: %+v %v, %d complaints", what, e, err, said)
	}
}

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawltest"
	"curtsy/storage/cdxj"
)

func TestARecordOnATerminalIsPlain(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if n, err := (plainWriter{&b}).Write([]byte("a\x1b[2J")); n != 5 || err != nil || b.String() != `a\x1b[2J` {
		t.Errorf("%q, %d, %v", b.String(), n, err)
	}
}

// warc cat prints a damaged record as far as it goes, and reports the damage.
func TestWARCCat_SaysWhatIsDamaged(t *testing.T) {
	t.Parallel()
	dir, web := crawledOnce(t, crawltest.Tree("bakery.test", 1))
	path, url := inDir(dir, crawldir.ArchiveName+"/curtsy-00000.warc.gz"), web.LoopbackURL("bakery.test")
	whole := inside(t, "warc", "cat", path, "--url", url)
	whole.want(t, cli.ExitDone)
	for line := range strings.Lines(string(fileOf(t, inDir(dir, crawldir.IndexName+"/curtsy-00000.cdxj")))) {
		l, err := cdxj.ParseLine([]byte(line))
		require.NoError(t, err)
		if l.URL != url {
			continue
		}
		b := fileOf(t, path)
		b[l.Offset+l.Length-8] ^= 1
		require.NoError(t, os.WriteFile(path, b, 0o600))
	}
	for _, flags := range [][]string{nil, {"--payload"}} {
		r := inside(t, append([]string{"warc", "cat", path, "--url", url}, flags...)...)
		if r.want(t, cli.ExitFailed, "of "+path+" is damaged: "); !strings.HasSuffix(whole.out, r.out) || r.out == "" {
			t.Errorf("%v prints %q", flags, r.out)
		}
	}
}

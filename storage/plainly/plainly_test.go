package plainly

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReasons_KeepSurroundings(t *testing.T) {
	for name, want := range map[string]string{
		"nxdomain":                          "no such host",
		"robots.txt: connect":               "robots.txt: connection refused",
		"robots.txt: no route":              "robots.txt: host unreachable",
		"robots.txt: reset before the kill": "robots.txt: connection closed without an answer before the kill",
		"status 404":                        "status 404",
		"robots.txt: status 503":            "robots.txt: status 503",
		"scope:host":                        "on another host (--scope host)",
		"budget: max-urls":                  "--max-urls is reached",
		"scope:none":                        "scope:none",
		"":                                  "",
		"connect ":                          "connect ",
	} {
		assert.Equal(t, want, Reason(name), name)
	}
}

func TestReasons_HaveWords(t *testing.T) {
	said := map[string]string{}
	for name, meaning := range words {
		own := said[meaning] == "" || meaning == "--max-urls is reached" // which has two names
		assert.Truef(t, own, "%s and %s are both shown as %q", name, said[meaning], meaning)
		said[meaning] = name
	}
}

func TestErrors_OmitCallsAndPackages(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none")
	_, open := os.Open(missing)
	_, stat := os.Stat(missing)
	mkdir := os.Mkdir(dir, 0o777)
	rename := os.Rename(missing, filepath.Join(dir, "to"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, taken := net.Listen("tcp", l.Addr().String())
	for want, err := range map[string]error{
		"seeds: " + missing + " does not exist":                            fmt.Errorf("seeds: %w", open),
		missing + " does not exist":                                        fmt.Errorf("audit: %w", stat),
		"x: there is one already":                                          fmt.Errorf("ledger: %w", &fs.PathError{Op: "open", Path: "x", Err: fs.ErrExist}),
		dir + ": there is one already":                                     mkdir,
		filepath.Join(dir, "to") + " does not exist":                       rename,
		"--listen: " + l.Addr().String() + ": somebody else listens there": fmt.Errorf("--listen: %w", taken),
		"f: it is empty\n" + missing + " does not exist":                   errors.Join(errors.New("frontier/bolt: open f: it is empty"), stat),
		"no known words":                                                   errors.New("no known words"),
	} {
		got := Error(err)
		assert.Equal(t, want, got, err)
		for _, raw := range []string{"stat ", "bind:", "syscall", "mkdir"} {
			assert.NotContains(t, got, raw)
		}
	}
}

func TestThingsAreCounted(t *testing.T) {
	for want, got := range map[string]string{
		"0 pages": Count(0, "page"), "1 page": Count(1, "page"), "2 pages": Count(int64(2), "page"), "-1 pages": Count(-1, "page"),
	} {
		assert.Equalf(t, want, got, "%q, want %q", got, want)
	}
}

func TestTimesAreWrittenAsPeopleDo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", time.Second: "1s", 90 * time.Second: "1m30s", 5 * time.Minute: "5m", time.Hour: "1h", time.Hour + time.Second: "1h0m1s", -time.Minute: "-1m",
	} {
		assert.Equal(t, want, Duration(d), d)
	}
}

func TestSizesAreWrittenToTheByte(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1: "1B", 1023: "1023B", 1 << 10: "1KiB", 1<<10 + 1: "1025B", 100 << 20: "100MiB", 3 << 29: "1536MiB", 2 << 40: "2TiB", 1 << 52: "4096TiB",
	} {
		assert.Equal(t, want, Size(n), n)
	}
}

func TestRoughDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "–", 0: "0 s", 999 * time.Millisecond: "0.9 s", 9999 * time.Millisecond: "9.9 s", 29999 * time.Millisecond: "29 s", time.Duration(4.1*1e9) - 1: "4.1 s", 119 * time.Second: "119 s",
		2 * time.Minute: "2 min", time.Hour - time.Second: "1 h 0 min", 170 * time.Minute: "2 h 50 min", 60 * time.Hour: "2 days",
	} {
		assert.Equal(t, want, RoughDuration(d), d)
	}
}

func TestSeconds_RoundsDown(t *testing.T) {
	for s, want := range map[float64]string{
		0: "0.000 s", 0.0004: "< 0.001 s", 0.001: "0.001 s", 0.9996: "0.999 s", 1.001: "1.001 s", 61.5: "61.500 s",
	} {
		assert.Equal(t, want, Seconds(s), s)
	}
}

func TestLines_EscapeUnprintable(t *testing.T) {
	for s, want := range map[string][2]string{
		"plain, é":        {"plain, é", "plain, é"},
		"a\nb\tc":         {`a\nb\tc`, "a\nb\tc"},
		"\x1b[31mred\x07": {`\x1b[31mred\a`, `\x1b[31mred\a`},
		"\u202egpj.exe":   {`\u202egpj.exe`, `\u202egpj.exe`},
		"\xff\xfe":        {"\ufffd\ufffd", "\ufffd\ufffd"},
		"":                {"", ""},
	} {
		assert.Equal(t, want, [2]string{OneLine(s), Lines(s)}, s)
	}
}

func TestArgumentCanBePasted(t *testing.T) {
	for arg, want := range map[string]string{
		"news": "news", "a/b-c_1.2": "a/b-c_1.2", "a b": "'a b'", "it's": `'it'\''s'`, "-x": "./-x", "": "''", "~x": "'~x'",
	} {
		assert.Equal(t, want, Argument(arg), arg)
	}
}

package witness

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"curtsy/storage/ledger/checkpoint"
)

const sumdbKey = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"

func TestAListNamesLogsAndKeys(t *testing.T) {
	a, b := signer(t, 1).Key(), signer(t, 2).Key()
	list := strings.Join([]string{
		"\ufeff# our logs", "", "go.sum database tree " + sumdbKey, a.String() + "\r", "two\t" + a.String(), "  two   " + b.String(),
		"old/* " + b.String(), "",
	}, "\n")
	l, err := ParseLogs([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	sumdb, err := checkpoint.ParseKey(sumdbKey)
	if err != nil {
		t.Fatal(err)
	}
	for origin, want := range map[string][]checkpoint.Key{
		"go.sum database tree":    {sumdb},
		"two":                     {a, b},
		a.Name() + "/0123":        {a},
		a.Name() + "/":            nil,
		a.Name():                  nil,
		a.Name() + "0/0123":       nil,
		"old/0123":                {b},
		"old/":                    nil,
		"older/0123":              nil,
		b.Name() + "/0123":        nil, // that key is followed in one log alone
		"other/" + a.Name() + "/": nil,
		"":                        nil,
		"sum.golang.org/x":        nil,
	} {
		if got := l.Keys(origin); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", origin, got, want)
		}
	}
	if l.Len() != 4 {
		t.Errorf("%d logs and keys", l.Len())
	}
	for _, bad := range []string{"origin", "origin key", a.String() + " origin", strings.Repeat("#", maxLogsFile+1)} {
		if _, err := ParseLogs([]byte("# x\n" + bad)); err == nil {
			t.Errorf("%.40q is a list", bad)
		}
	}
}

func TestALogIsGivenAsOriginAndKey(t *testing.T) {
	k := signer(t, 1).Key()
	for text, want := range map[string]string{k.String(): "", "a=" + k.String(): "a", "a=b c=" + k.String(): "a=b c"} {
		if origin, got, err := ParseLog(text); err != nil || origin != want || got != k {
			t.Errorf("%q: %q %v %v", text, origin, got, err)
		}
	}
	for _, bad := range []string{"", "a", "a=", "=" + k.String(), "a=b", "a " + k.String()} {
		if _, _, err := ParseLog(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A witness that runs follows its list as it changes. A list that cannot be read changes nothing, and is told of once.
func TestAListIsReadAnewWhenItChanges(t *testing.T) {
	a, b := signer(t, 1).Key(), signer(t, 2).Key()
	path := filepath.Join(t.TempDir(), "logs")
	var said []string
	var given Logs
	given.Follow("given", a)
	l, err := OpenList(path, given, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
	if err != nil {
		t.Fatal(err)
	}
	at := time.Now()
	put := func(text string) {
		t.Helper()
		at = at.Add(time.Second)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	follows := func(origin string, want int) {
		t.Helper()
		for range 2 {
			if got := l.Logs().Keys(origin); len(got) != want {
				t.Errorf("%s: %d keys, want %d", origin, len(got), want)
			}
		}
	}
	follows("one", 0)
	follows("given", 1)
	put("one " + a.String())
	follows("one", 1)
	put("one " + a.String() + "\none " + b.String() + "\n")
	follows("one", 2)
	put("damaged")
	follows("one", 2)
	put("two " + a.String())
	follows("one", 0)
	follows("two", 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	follows("two", 0)
	follows("given", 1)
	if len(said) != 5 || !strings.Contains(said[2], "line 1") || !strings.Contains(said[2], "as before") {
		t.Errorf("said %q", said)
	}
	put("damaged")
	if _, err := OpenList(path, Logs{}, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged list: %v", err)
	}
}

func FuzzParseLogs(f *testing.F) {
	f.Add([]byte("# x\norigin " + sumdbKey + "\n" + sumdbKey))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ParseLogs(b)
		if err == nil && l.Len() > 0 && !strings.Contains(string(b), "+") {
			t.Error("logs without a key")
		}
	})
}

package crawldir

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const hidden = "s3cr3t-of-the-operator"

func secretFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	return path
}

func TestCredentialsAreForHostsThatMayProveToBeOwn(t *testing.T) {
	auth, header := secretFile(t, "jo:"+hidden+"\n", 0o600), secretFile(t, "X-Key: "+hidden+"\nCookie: a="+hidden+"\n", 0o600)
	open := secretFile(t, "jo:"+hidden, 0o600)
	require.NoError(t, os.Chmod(open, 0o640))
	own := []string{OwnLoopback, "own.test.org"}
	for name, tt := range map[string]struct {
		auth, header string
		own          []string
		want         string // declared, or a part of the error
	}{
		"own":                   {"own.test.org=" + auth, "own.test.org=" + header, own, "https://own.test.org: Authorization, X-Key, Cookie"},
		"loopback":              {"http://127.0.0.1:8080=" + auth, "", own, "http://127.0.0.1:8080: Authorization"},
		"not own":               {"www.own.test.org=" + auth, "", own, "add --own-site www.own.test.org"},
		"another port":          {"own.test.org:8443=" + auth, "", own, "https at its usual port"},
		"http":                  {"http://own.test.org=" + auth, "", own, "https at its usual port"},
		"an address":            {"192.0.2.7=" + auth, "", own, "or a public name"},
		"one label":             {"intranet=" + auth, "", own, "or a public name"},
		"loopback is foreign":   {"http://127.0.0.1:8080=" + auth, "", []string{OwnNone}, "--own-site none"},
		"a path":                {"own.test.org/x=" + auth, "", own, "not a host"},
		"a user":                {"jo@own.test.org=" + auth, "", own, "not a host"},
		"no file":               {"own.test.org", "", own, "write HOST=FILE"},
		"the secret itself":     {"own.test.org=jo:" + hidden, "", own, "into a file that only you can read"},
		"the field itself":      {"", "own.test.org=X-Key: " + hidden, own, "into a file that only you can read"},
		"a missing file":        {"own.test.org=" + auth + "x", "", own, "no such file"},
		"a file open to others": {"own.test.org=" + open, "", own, "chmod 600"},
		"two of one field":      {"own.test.org=" + auth, "own.test.org=" + secretFile(t, "authorization: "+hidden, 0o600), own, "twice"},
		"the crawler's field":   {"", "own.test.org=" + secretFile(t, "User-Agent: "+hidden, 0o600), own, "the crawler's to set"},
		"no user":               {"own.test.org=" + secretFile(t, hidden, 0o600), "", own, "user:password or Bearer TOKEN"},
		"two lines":             {"own.test.org=" + secretFile(t, "jo:"+hidden+"\nx", 0o600), "", own, "one line is expected"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a file open to others" && runtime.GOOS == "windows" {
				t.Skip("files have no mode here")
			}
			s := Settings{OwnSite: tt.own}
			if tt.auth != "" {
				s.Auth = []string{tt.auth}
			}
			if tt.header != "" {
				s.Header = []string{tt.header}
			}
			set, err := s.credentials()
			said := strings.Join(declareCredentials(set), "\n")
			if err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, tt.want) || strings.Contains(said, hidden) || (err == nil) != strings.HasPrefix(tt.want, "http") && !strings.HasPrefix(tt.want, "https at") {
				t.Errorf("%q, %v; want %q", said, err, tt.want)
			}
		})
	}
}

func TestPathsOfCredentialsAreMadeAbsolute(t *testing.T) {
	s := Settings{Auth: []string{"own.test.org=a/b"}, Header: []string{"own.test.org=c"}}
	require.NoError(t, s.absolute())
	here, err := os.Getwd()
	require.NoError(t, err)
	want := []string{"own.test.org=" + filepath.Join(here, "a/b"), "own.test.org=" + filepath.Join(here, "c")}
	assert.Truef(t, slices.Equal(append(s.Auth, s.Header...), want), "%q %q, want %q", s.Auth, s.Header, want)
}

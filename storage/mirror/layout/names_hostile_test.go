package layout

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile are paths and queries that try to leave the mirror, overwrite or hide a file, address a device, or mislead.
var hostile = func() []string {
	all := []string{
		// Paths out of the directory.
		"../x", "../../../../etc/passwd", "a/../../x", "%2e%2e/x", "%2e%2e%2fx", "..%2fx", "%2E%2E%5Cx", "..%5cx", "..%5C..%5Cx", `..\x`, `..\..\x`, "....//x", "..;/x", ".%2e/x",
		"%252e%252e%252fx", "%c0%ae%c0%ae/x", "%uff0e%uff0e/x", "%EF%BC%8E%EF%BC%8E/x", "..%00/x", "a/..%2f..%2fx", "//etc/passwd", "/%2fetc/passwd", "C:/x", "c:%5cx", "C%3A%5Cx", "%5c%5chost%5cshare",
		"~/x", "~root/x", "%7e/x", "$HOME/x", "%25HOME%25/x", "file:///etc/passwd", "?../../x", "?/../../x", "x?..%2f..%2fy",
		// Bytes that names cannot have, or that end them.
		"a%00b", "a%00.html", "%00", "a%0ab", "a%0d%0ab", "a%09b", "a%7fb", "a%1b%5b31mb", "%ff%fe", "%80", "a%c2%85b", "%ed%a0%80", "%f4%90%80%80", "%e2%80%a8x", "%ef%bb%bfx",
		// Devices and streams of Windows, and endings that its shell removes.
		"CON", "con", "Con.txt", "con.tar.gz", "PRN", "AUX.html", "NUL", "nul.", "NUL%20", "COM1", "com9.js", "COM%C2%B9", "LPT1", "lpt%C2%B3.css", "CONIN$", "CONOUT$", "CLOCK$",
		"x::$DATA", "x:stream", "x.html:y:$DATA", "x%3A%3A$DATA", "x.", "x..", "x%20", "x%20.", "x.%20", "%20x", "...", ".", "..", "%2e", "a./b", "a%20/b", "a<b>c", "a|b", "a%22b", "a*b", "a%3fb",
		strings.Repeat("n", 300), strings.Repeat("n", 300) + ".html", strings.Repeat("%F0%9F%98%80", 90), strings.Repeat("d/", 400) + "x", strings.Repeat(strings.Repeat("w", 250)+"/", 20) + "x", "x?" + strings.Repeat("q", 3000),
		// Equal to a file system, but not to a server.
		"File", "file", "FILE", "%C3%A9", "e%CC%81", "%C3%89", "%C3%9F", "ss", "%C4%B0", "i%CC%87", "%E2%84%AA", "k", "%EF%AC%81", "fi", "%C5%BF", "s", "%CE%A3", "%CF%83", "%CF%82", "a%E2%80%8Bb", "ab", "a%C2%ADb",
		// Misleading display.
		"%E2%80%AEtxt.exe", "a%E2%80%AElmth.exe", "%E2%81%A6x%E2%81%A9", "%D8%A7%D9%84", "x%E2%80%8F.html", "%E2%80%8E",
		// Files read by version control, servers, shells and desktops, and the mirror's lists.
		".git/config", ".git/HEAD", ".GIT/config", ".git%20/config", ".g%E2%80%8Cit/config", "git~1/config", ".hg/hgrc", ".svn/entries", ".htaccess", ".env", ".bashrc", "desktop.ini", "autorun.inf", "Thumbs.db", ".DS_Store", ".well-known/x",
		"-rf", "--help", "mirror-map.jsonl", "../mirror-map.jsonl", "missing.jsonl", "index.html", "", "?",
		// A file and a directory of the same name.
		"f", "f/", "f/g", "f/g/", "f/g/h", "f.html", "f.html/x", "f/index.html", "f/index.html/x", "F/g", "f?x", "f?x/y",
	}
	return all
}()

func TestNames_HostileStayInside(t *testing.T) {
	var pages []Page
	keys := map[string]bool{}
	for _, scheme := range []string{"http://names.test/", "https://names.test:444/"} {
		for _, path := range hostile {
			for _, media := range []string{"text/html", "application/octet-stream"} {
				u := urlOf(t, scheme+path)
				if keys[u.Key()] {
					continue
				}
				keys[u.Key()] = true
				pages = append(pages, Page{u, media, fmt.Sprint(len(pages))})
			}
		}
	}
	assert.GreaterOrEqual(t, len(hostile), 95, "classes")
	for _, l := range everyLayout {
		mustBeHarmless(t, pages, l)
	}
}

func mustBeHarmless(t *testing.T, pages []Page, l Layout) {
	t.Helper()
	names := Names(pages, l)
	mustBeApart(t, names, len(pages))
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	for i, name := range names {
		for part := range strings.SplitSeq(name, "/") {
			if low := strings.ToLower(part); strings.HasPrefix(low, ".") && low != ".well-known" || low == "desktop.ini" || low == "autorun.inf" || low == "thumbs.db" || strings.HasPrefix(low, "git~") {
				t.Errorf("%s has the file %q: others read %q", pages[i].URL, name, part)
			}
			if strings.ContainsFunc(part, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Cf, r) }) {
				t.Errorf("%s has the file %q, which shows as another", pages[i].URL, name)
			}
		}
		err := root.MkdirAll(filepath.Dir(filepath.FromSlash(name)), 0o777)
		assert.NoErrorf(t, err, "%s: %v", pages[i].URL, err)
		f, err := root.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			t.Errorf("%s: %v", pages[i].URL, err)
			continue
		}
		fmt.Fprint(f, i)
		f.Close()
	}
	for i, name := range names {
		b, err := root.ReadFile(filepath.FromSlash(name))
		assert.Truef(t, err == nil && string(b) == fmt.Sprint(i), "%s: %q holds %q, %v", pages[i].URL, name, b, err)
	}
}

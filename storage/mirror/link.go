package mirror

import (
	"net/url"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/markup"
	"curtsy/storage/mirror/layout"
)

// linker decides on the references of one document.
type linker struct {
	plan     *plan
	url      canon.URL // the document's own
	file     string    // its name
	previews bool      // what a page names for others to show is missed
	missing  func(url canon.URL, embed bool)
	loads    func(script canon.URL) // the document loads a script
	nowhere  func()                 // a reference was replaced by one that leads to nothing
}

// visit is a markup.Visit: relative for what is in the mirror, absolute for what is not.
func (l *linker) visit(ref markup.Ref) (replacement string, replace bool) {
	if ref.Role == markup.Base {
		return "", false
	}
	u, err := ref.URL()
	if err != nil {
		return l.unusual(ref, canon.ReasonOf(err))
	}
	fragment := escaped(ref.Fragment(), fragmentSafe)
	if u.Key() == l.url.Key() && strings.HasPrefix(strings.TrimLeft(ref.Raw, " \t\n\f\r"), "#") {
		return fragment, ref.Base.Key() != l.url.Key()
	}
	if ref.Role == markup.Service {
		return u.String() + fragment, true // something answers there, or nothing does
	}
	if ref.Role == markup.Script {
		l.loads(u)
	}
	if e, ok := l.plan.find(u.Key()); ok {
		if file := l.plan.fileOf(e); file != nil {
			if place := l.plan.placeOf(e); place != "" {
				fragment = place // Fetch 4.4: it counts, not the link's
			}
			return relative(l.file, file.name) + fragment, true
		}
	}
	if ref.Role != markup.Query && (ref.Role != markup.Preview || l.previews) {
		l.missing(u, ref.Role.Requisite() || ref.Role == markup.Lazy)
	}
	return u.String() + fragment, true
}

// nowhere is a reference that leads to nothing, whatever it stands in.
const nowhere = "about:invalid"

// unusual decides on a reference to no canonical URL. Absolute ones stay: mailto:, data:, and those that no browser can
// read. Relative ones must not, for they would now be relative to the mirror.
func (l *linker) unusual(ref markup.Ref, reason canon.Reason) (replacement string, replace bool) {
	raw := strings.Trim(ref.Raw, " \t\n\f\r")
	base := ref.Base
	if ref.Role.Requisite() && isFileURL(raw) {
		l.nowhere()
		return nowhere, true // no page from the web gets one, but the copy of a page could, opened as a file
	}
	if base.IsZero() {
		if _, err := l.url.Resolve(raw); canon.ReasonOf(err) == canon.Scheme || canon.ReasonOf(err) == canon.NoHost {
			return "", false
		}
		l.nowhere()
		return nowhere, true // the page's base is no place on the web
	}
	if reason != canon.TooLong {
		return "", false
	}
	if b, err := url.Parse(base.String()); err == nil {
		if u, err := b.Parse(raw); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
			return escaped(u.String(), tooLongSafe), true
		}
	}
	l.nowhere()
	return nowhere, true
}

// isFileURL reports whether a browser takes s for a file: URL. It drops tabs and line ends (URL Standard 4.4).
func isFileURL(s string) bool {
	s = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s[:min(len(s), 64)])
	return len(s) >= len("file:") && strings.EqualFold(s[:len("file:")], "file:")
}

// relative returns the reference from a file to another, both slash-separated paths in the mirror.
func relative(from, to string) string {
	common := 0
	for i := 0; i < len(from) && i < len(to) && from[i] == to[i]; i++ {
		if from[i] == '/' {
			common = i + 1
		}
	}
	to = escaped(to[common:], pathSafe)
	if up := strings.Count(from[common:], "/"); up > 0 {
		return strings.Repeat("../", up) + to
	}
	return to
}

// Characters that stand in a reference as they are. In a path they are few, so that the path can stand in any
// attribute, in a srcset and in a style sheet.
var (
	pathSafe     = octets("-._~@=+/")
	fragmentSafe = octets("-._~@=+/#%!$&*:;?|^[]{}`,()")
	tooLongSafe  = octets("-._~@=+/#%!$&*:;?|^[]{}`,()'")
)

// octets is a set of bytes: letters, digits and these.
func octets(these string) *[256]bool {
	var set [256]bool
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + these) {
		set[c] = true
	}
	return &set
}

func escaped(s string, safe *[256]bool) string {
	ready := 0
	for ready < len(s) && safe[s[ready]] {
		ready++
	}
	if ready == len(s) {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if safe[s[i]] {
			b.WriteByte(s[i])
		} else {
			layout.Escape(&b, s[i])
		}
	}
	return b.String()
}

package cbcp

import (
	"bufio"
	"slices"
	"strings"
)

// wishes are what an X-Robots-Tag asks for, as far as an archive can show whether it was heeded.
type wishes struct{ noarchive, nofollow, other bool }

// colons are the directives with a value of their own: what stands before their colon is no crawler's name.
var colons = []string{"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}

// read takes the value of a field. A name with a colon says whom the rest of the field is for: all else is for everyone.
func (w *wishes) read(value string, tokens []string) {
	if name, rest, ok := strings.Cut(value, ":"); ok && !strings.ContainsAny(name, ", ") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case slices.Contains(colons, name):
		case name == "robots" || name == "*" || slices.Contains(tokens, name):
			value = rest
		default:
			return
		}
	}
	for d := range strings.SplitSeq(strings.ToLower(value), ",") {
		switch strings.TrimSpace(d) {
		case "noarchive":
			w.noarchive = true
		case "nofollow", "none":
			w.nofollow = true
		case "", "all":
		default:
			w.other = true // noindex and the like bind whoever uses the archive
		}
	}
}

// tags takes the wishes of an answer. kept says that the archive may have its body, which is next in body.
func (f *facts) tags(m *message, kept bool, body *bufio.Reader) {
	var w wishes
	for _, v := range m.field["x-robots-tag"] {
		w.read(v, f.tokens)
	}
	k := f.key(m.uri)
	if !w.nofollow {
		delete(f.unfollowed, k)
	} else if len(f.unfollowed) < maxURLs {
		f.unfollowed[k] = true
	}
	if w == (wishes{}) {
		return
	}
	f.tagged++
	if !w.noarchive || !kept {
		return
	}
	if _, err := body.ReadByte(); err == nil {
		m.at.Observed = "the body is archived, and X-Robots-Tag has noarchive"
		add(&f.keptBodies, m.at)
	}
}

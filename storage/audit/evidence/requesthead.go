package evidence

import (
	"slices"
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
)

// RequestHead is what a request's head says of who asks and whom, beside its User-Agent.
type RequestHead struct {
	Agents, Froms, Hosts int
	Host, From           string
	Secrets              string // names of fields that tell who the user is
	Masked               string // names of fields that say who the user is, and whose values the archive does not have
	OtherAgent           string // a User-Agent before the last, and another
	Odd                  string // of a request of ours: what this crawler never sends; "" for nothing
	length               string // Content-Length
	chunked              bool   // Transfer-Encoding is given
}

// take takes a field.
func (s *RequestHead) take(name string, value []byte) {
	switch name {
	case "host":
		s.Host, s.Hosts = strings.ToLower(finding.Short(string(value))), s.Hosts+1
	case "from":
		s.From, s.Froms = finding.Short(string(value)), s.Froms+1
	case "content-length":
		s.length = finding.Short(string(value))
	case "transfer-encoding":
		s.chunked = true
	case "cookie", "authorization", "proxy-authorization":
		if string(value) != Masked {
			s.Secrets = alsoNamed(s.Secrets, name)
			return
		}
	}
	if string(value) == Masked {
		if name == "" {
			name = "another field"
		}
		s.Masked = alsoNamed(s.Masked, name)
	}
}

// sentFields are the fields of the requests of this crawler, as it spells them (docs/reference/archives.md). Those of the operator's
// own hosts (docs/trust/politeness.md, rule 28) stand beside them, masked.
var sentFields = []string{
	"Host", "User-Agent", "From", "Accept", "Accept-Encoding", "Accept-Language", "If-None-Match", "If-Modified-Since", "Connection",
	"Signature-Agent", "Signature-Input", "Signature",
}

// oddity says what in the head of a request this crawler never sends; "" for nothing. It writes a request line of
// HTTP/1.1 and fields of its own, each once on a line that ends in CRLF, and no body.
func oddity(head []byte) string {
	text, whole := strings.CutSuffix(string(head), "\r\n\r\n")
	if !whole || strings.Count(text, "\n") != strings.Count(text, "\r\n") || strings.Count(text, "\r") != strings.Count(text, "\n") {
		return "lines that do not end in CRLF"
	}
	first, fields, _ := strings.Cut(text, "\r\n")
	if parts := strings.Split(first, " "); len(parts) != 3 || parts[2] != "HTTP/1.1" {
		return "the request line " + strconv.Quote(finding.Short(first))
	}
	var before []string
	for line := range strings.SplitSeq(fields, "\r\n") {
		name, value, ok := strings.Cut(line, ": ")
		switch {
		case !ok && line != "":
			return "the line " + strconv.Quote(finding.Short(line))
		case slices.Contains(before, strings.ToLower(name)):
			return "the field " + finding.Short(name) + " twice"
		case ok && value != Masked && !slices.Contains(sentFields, name), name == "Connection" && value != "close":
			return "the field " + finding.Short(name)
		}
		before = append(before, strings.ToLower(name))
	}
	return ""
}

// Masked stands in the place of the value of a field that says who the user is (docs/reference/config.md).
const Masked = "(masked)"

// alsoNamed is a list of names with one more.
func alsoNamed(list, name string) string {
	if strings.Contains(list, name) {
		return list
	}
	return strings.TrimPrefix(list+", "+name, ", ")
}

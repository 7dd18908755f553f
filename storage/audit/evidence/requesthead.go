package evidence

import (
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

// Masked stands in the place of the value of a field that says who the user is (docs/network.md).
const Masked = "(masked)"

// alsoNamed is a list of names with one more.
func alsoNamed(list, name string) string {
	if strings.Contains(list, name) {
		return list
	}
	return strings.TrimPrefix(list+", "+name, ", ")
}

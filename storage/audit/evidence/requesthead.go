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
		if !strings.Contains(s.Secrets, name) {
			s.Secrets = strings.TrimPrefix(s.Secrets+", "+name, ", ")
		}
	}
}

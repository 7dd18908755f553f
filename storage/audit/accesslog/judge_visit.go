package accesslog

import (
	"encoding/binary"
	"strings"
	"time"
)

// visit is a line of the crawler.
type visit struct {
	time                          time.Time
	log                           int
	number                        int64
	status                        int
	combined                      bool
	cut                           bool // the server did not read the request line as a whole
	remote, agent, method, target string
}

// appendVisit writes a line so that lines sort by host, time and place.
func appendVisit(b []byte, host string, log int, l *numbered) []byte {
	b = append(b, strings.ReplaceAll(host, "\x00", "")...)
	b = append(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(l.time.Unix())^1<<63)
	b = binary.BigEndian.AppendUint16(b, uint16(log))
	b = binary.BigEndian.AppendUint64(b, uint64(l.number))
	b = binary.BigEndian.AppendUint16(b, uint16(l.status))
	b = append(b, flags(l.combined, l.cut && unheard(l.status)))
	for _, s := range []string{l.remote, l.agent, l.method} {
		b = append(b, strings.ReplaceAll(s[:min(len(s), 1000)], "\x00", "")...)
		b = append(b, 0)
	}
	return append(b, l.target...)
}

// parseVisit reads what appendVisit wrote.
func parseVisit(b []byte) (host string, v visit) {
	host, rest, _ := strings.Cut(string(b), "\x00")
	r := []byte(rest)
	v.time = time.Unix(int64(binary.BigEndian.Uint64(r)^1<<63), 0).UTC()
	v.log = int(binary.BigEndian.Uint16(r[8:]))
	v.number = int64(binary.BigEndian.Uint64(r[10:]))
	v.status = int(binary.BigEndian.Uint16(r[18:]))
	v.combined, v.cut = r[20]&1 != 0, r[20]&2 != 0
	p := strings.SplitN(rest[21:], "\x00", 4)
	v.remote, v.agent, v.method, v.target = p[0], p[1], p[2], p[3]
	return host, v
}

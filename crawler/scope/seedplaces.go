package scope

import (
	"slices"
	"strings"
	"sync"

	"curtsy/frontier/canon"
)

// places is what the seeds bring into scope.
type places struct {
	mode Mode

	mu    sync.RWMutex
	set   map[string]struct{} // hosts, registrable domains or the keys of URLs, as the mode has it
	dirs  map[string][]string // ModePrefix: of each host the directories, sorted, none within another
	hosts map[string]struct{} // RequisitesHost: the hosts of the seeds; else nil
}

func newPlaces(c Config) *places {
	p := &places{mode: c.Mode, set: map[string]struct{}{}, dirs: map[string][]string{}}
	if c.Requisites == RequisitesHost {
		p.hosts = map[string]struct{}{}
	}
	return p
}

func (p *places) add(u canon.URL) {
	if p.hosts != nil {
		p.hosts[strings.Clone(HostOf(u))] = struct{}{}
	}
	switch p.mode {
	case ModeHost:
		p.set[strings.Clone(HostOf(u))] = struct{}{}
	case ModeDomain:
		p.set[strings.Clone(u.RegistrableDomain())] = struct{}{}
	case ModeSeeds:
		p.set[u.Key()] = struct{}{}
	case ModePrefix:
		path := keyPath(u)
		host := strings.Clone(HostOf(u))
		p.dirs[host] = addDir(p.dirs[host], strings.Clone(path[:strings.LastIndexByte(path, '/')+1]))
	}
}

func (p *places) hold(u canon.URL) bool {
	var ok bool
	switch p.mode {
	case ModeHost:
		_, ok = p.set[HostOf(u)]
	case ModeDomain:
		_, ok = p.set[u.RegistrableDomain()]
	case ModeSeeds:
		_, ok = p.set[u.Key()]
	case ModePrefix:
		ok = inDirs(p.dirs[HostOf(u)], keyPath(u))
	default:
		ok = true
	}
	return ok
}

// HostOf returns host and port without "www." and without the port that is the scheme's default.
func HostOf(u canon.URL) string {
	host := u.Authority().HostPort()
	// "www.test" is a name of its own: without "www." a mere suffix would be left.
	if rest, ok := strings.CutPrefix(host, "www."); ok && strings.IndexByte(rest, '.') >= 0 {
		return rest
	}
	return host
}

// addDir adds a directory to a sorted list in which none lies within another.
func addDir(dirs []string, dir string) []string {
	if inDirs(dirs, dir) {
		return dirs
	}
	dirs = slices.DeleteFunc(dirs, func(d string) bool { return strings.HasPrefix(d, dir) })
	at, _ := slices.BinarySearch(dirs, dir)
	return slices.Insert(dirs, at, dir)
}

// inDirs reports whether path lies in one of the directories. That can only be the last one that sorts before it:
// whatever sorts between a directory and a path within it lies within it as well.
func inDirs(dirs []string, path string) bool {
	at, found := slices.BinarySearch(dirs, path)
	return found || at > 0 && strings.HasPrefix(path, dirs[at-1])
}

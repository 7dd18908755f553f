// Package address keeps exchanges with one address apart, and chooses among the addresses of a host.
//
// A Pacer has the queue before each address; a Chooser remembers where each host was reached. Both live as long as the
// process and are bounded. Pace and order within a process are theirs; package hostlock shares the pace with other
// processes, and stands behind Locks.
//
// The package never dials: it says when, and where.
package address

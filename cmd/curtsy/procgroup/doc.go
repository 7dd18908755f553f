// Package procgroup terminates a command together with its child processes.
package procgroup

import "time"

// Grace is the time between SIGTERM and SIGKILL.
const Grace = 10 * time.Second

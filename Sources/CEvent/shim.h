// The headers of the system come first: libevent's define feature macros, which would change them.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/types.h>
#include <event2/event.h>

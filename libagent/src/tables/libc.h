// The libc functions that glibc 2.34 moved out of libpthread and libdl, asked for under their oldest version,
// so that the agent loads wherever glibc 2.28 does. References are weak: on such a glibc they are null in a
// process that has neither library, and the agent does without.
#pragma once

#include <dlfcn.h>
#include <pthread.h>

#pragma weak pthread_create
#pragma weak pthread_attr_setstacksize
#pragma weak dlopen
#pragma weak dlsym

// A sanitizer must see the calls it intercepts. Where libc is older there is nothing younger to be asked for,
// and a version of what no library of the link has cannot be named.
#if defined(PROFD_AGENT_OLD_GLIBC) && __GLIBC_PREREQ(2, 34)
#if defined(__x86_64__)
#define PROFD_OLDEST_GLIBC "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define PROFD_OLDEST_GLIBC "GLIBC_2.17"
#else
#error "which is the first glibc version of this machine?"
#endif
__asm__(".symver pthread_create, pthread_create@" PROFD_OLDEST_GLIBC);
__asm__(".symver pthread_attr_setstacksize, pthread_attr_setstacksize@" PROFD_OLDEST_GLIBC);
__asm__(".symver dlopen, dlopen@" PROFD_OLDEST_GLIBC);
__asm__(".symver dlsym, dlsym@" PROFD_OLDEST_GLIBC);
#endif

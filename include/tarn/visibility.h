/* visibility.h - what is exported, and which calls must be checked. */
#ifndef TARN_VISIBILITY_H
#define TARN_VISIBILITY_H

#if defined(__GNUC__)
#define TARN_EXPORT __attribute__((visibility("default")))
#define TARN_CHECKED __attribute__((warn_unused_result))
#else
#define TARN_EXPORT
#define TARN_CHECKED
#endif

#endif

/*
 * Linked into the static binary of `cargo xtask dist`, and nowhere else.
 *
 * glibc finds users and hosts by the modules that /etc/nsswitch.conf names. Two of them are built in: files and dns. A
 * static program loads the others from the machine, and crashes if they belong to another glibc. So it uses those two.
 */
#include <nss.h>

__attribute__((constructor)) static void only_built_in_names(void)
{
    __nss_configure_lookup("passwd", "files");
    __nss_configure_lookup("hosts", "files dns");
}

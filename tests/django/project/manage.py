import os
import sys


def main() -> None:
    from django.core.management import execute_from_command_line

    if os.environ.get("SITE_DRIVER") == "pymysql":
        import pymysql

        pymysql.version_info = (2, 2, 7, "final", 0)  # what Django asks of mysqlclient
        pymysql.install_as_MySQLdb()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
